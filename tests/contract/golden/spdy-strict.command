/usr/sbin/node
--single-threaded
--v8-pool-size=0
{servers}/spdy/server.mjs
/run/priolab/asked/spdy-strict.json
