#!/bin/sh
# Two downloads with iperf3 through one bottleneck, of ten seconds each, one with cubic and one with bbr:
# `rivals.sh serve`, or `rivals.sh race`.
if [ "$1" = serve ]; then
    iperf3 -s -p 5202 &
    exec iperf3 -s -p 5201
fi
iperf3 -c server -p 5201 -R -C cubic -t 10 -i 0 >cubic.out &
iperf3 -c server -p 5202 -R -C bbr -t 10 -i 0 >bbr.out &
wait
for one in cubic bbr; do
    printf '%s: ' "$one"
    grep receiver "$one.out"
done
