env
GOMAXPROCS=2
GODEBUG=multipathtcp=0
/usr/sbin/priolab-go-front
/run/priolab/asked/go.json
