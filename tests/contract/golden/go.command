env
GOMAXPROCS=1
GODEBUG=multipathtcp=0
/usr/sbin/priolab-go-front
/run/priolab/asked/go.json
