#!/bin/bash
# Looks up as many names, and prints how long each took.
TIMEFORMAT='%R s'
for number in $(seq "$1"); do
    time getent ahostsv4 "name$number.test" | head -n 1
done 2>&1
