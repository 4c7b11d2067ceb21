/usr/sbin/haproxy
-db
-f
/run/priolab/asked/haproxy.cfg
