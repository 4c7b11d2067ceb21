/usr/sbin/node
--single-threaded
--v8-pool-size=0
{servers}/node/server.mjs
/run/priolab/asked/node.json
