/usr/sbin/nginx
-p
/run/priolab/front/state
-e
/run/priolab/front/error.log
-c
/run/priolab/asked/nginx.conf
