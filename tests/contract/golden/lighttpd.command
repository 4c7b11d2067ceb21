/usr/sbin/lighttpd
-D
-f
/run/priolab/asked/lighttpd.conf
