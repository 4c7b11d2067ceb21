/usr/sbin/apache2
-D
FOREGROUND
-f
/run/priolab/asked/apache2.conf
