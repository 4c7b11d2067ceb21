/usr/sbin/h2o
-m
worker
-c
/run/priolab/asked/h2o.yaml
