# What must be true of the tuner's package under systemd; the last line is "all is well" if it is. A line that begins with
# "measured" has a name and a value.
set -e
is() { # WHAT IT MUST-BE
    [ "$2" = "$3" ] || { echo "$1: $2 instead of $3"; exit 1; }
}
pid() { systemctl show --property MainPID --value priority-tuner; }
seen() { priority-tuner status | grep -A 1 /nginx.service | sed -n 's/.*open; \([0-9]*\) seen, \([0-9]*\) of.*/\1 \2/p'; }
load() { curl -s -o /dev/null http://127.0.0.1/; }
again() { # WHAT PID: waits until the unit is active with another process, for a minute at most
    for tenths in $(seq 600); do
        sleep 0.1
        [ "$(pid)" = "$2" ] || ! systemctl --quiet is-active priority-tuner || break
    done
    is "the unit after $1" "$(systemctl is-active priority-tuner)" active
    echo "measured: $1: $((tenths / 10)).$((tenths % 10)) s"
}

echo "measured: systemd: $(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p')"
apt-get install --yes --no-install-recommends /out/priority-tuner.deb
is "the unit after installation" "$(systemctl is-enabled priority-tuner || true)" disabled
systemd-analyze verify --man=no /lib/systemd/system/priority-tuner.service
systemctl enable --now priority-tuner
is "the unit" "$(systemctl is-active priority-tuner)" active
load
is "connections seen and tuned" "$(seen)" "1 1"
journalctl --unit priority-tuner --output cat | grep -q '^tuning .*/nginx.service'
cat >>/etc/priority-tuner/priority-tuner.toml <<'TOML'
log = "/var/log/priority-tuner/decisions.jsonl"
metrics_file = "/run/priority-tuner/metrics.prom"
metrics_listen = "127.0.0.1:9469"
TOML
systemctl reload priority-tuner
systemctl restart nginx
sleep 1
load
is "connections after the server's restart" "$(seen)" "2 2"
curl -s http://127.0.0.1:9469/metrics | grep 'connections_total{cgroup="/sys/fs/cgroup/system.slice/nginx.service"} 2'
grep -q '"port":80' /var/log/priority-tuner/decisions.jsonl
sleep 6
test -s /run/priority-tuner/metrics.prom
systemctl status --no-pager priority-tuner | grep 'Status: "0 connections in 1 of '

# An update, while a download goes on. It is slow until the new tuner is there, which must not take the old one's value for
# the server's own limit.
dpkg-deb --raw-extract /out/priority-tuner.deb /tmp/newer
sed -i 's/^Version: .*/&+1/' /tmp/newer/DEBIAN/control
dpkg-deb -Znone --build /tmp/newer /tmp/newer.deb
head -c 20000000 /dev/zero >/var/www/html/zeros
slowly() { while [ ! -e /tmp/updated ]; do dd bs=10k count=1 iflag=fullblock status=none; sleep 0.1; done; cat; }
curl -s --no-buffer http://127.0.0.1/zeros | slowly | wc -c >/tmp/came &
download=$!
sleep 1
decisions=$(wc -l </var/log/priority-tuner/decisions.jsonl)
updated=$(pid)
dpkg --install /tmp/newer.deb
again "after an update" "$updated"
touch /tmp/updated
wait "$download"
is "bytes of the download" "$(cat /tmp/came)" 20000000
journalctl --unit priority-tuner --output cat | grep 'previous LOWAT: 1$'
tail -n "+$((decisions + 1))" /var/log/priority-tuner/decisions.jsonl >/tmp/after
grep '"old_bytes":0,.*"outcome":"set"' /tmp/after
is "decisions for the old tuner's value" "$(grep -c "server's own limit" /tmp/after || true)" 0

# Kills, while a download goes on
head -c 3000000 /dev/zero >/var/www/html/zeros
curl -s --limit-rate 500k -o /dev/null http://127.0.0.1/zeros &
download=$!
killed=$(pid)
systemctl kill --signal KILL priority-tuner
again "after a kill" "$killed"
wait "$download"
rm /var/www/html/zeros
before=$(seen)
load
is "connections after a kill" "$(seen)" "$((${before% *} + 1)) $((${before#* } + 1))"

# The watchdog
! systemd-detect-virt --quiet --container && sleep 70
is "restarts" "$(systemctl show --property NRestarts --value priority-tuner)" 1
mkdir -p /run/systemd/system/priority-tuner.service.d
printf '[Service]\nWatchdogSec=2s\n' >/run/systemd/system/priority-tuner.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart priority-tuner
sleep 5
is "restarts while it lives" "$(systemctl show --property NRestarts --value priority-tuner)" 0
stopped=$(pid)
kill -STOP "$stopped"
again "after a stop" "$stopped"
rm -r /run/systemd/system/priority-tuner.service.d
systemctl daemon-reload

# Broken settings
echo 'port = 0' >>/etc/priority-tuner/priority-tuner.toml
systemctl reload priority-tuner
is "the unit with broken settings" "$(systemctl is-active priority-tuner)" active
! systemctl restart priority-tuner
is "the unit after a restart with broken settings" "$(systemctl is-active priority-tuner || true)" failed
journalctl --unit priority-tuner --output cat --priority err | grep 'port=0 is not allowed; allowed: 1 to 65535$'
sed -i '/^port/d' /etc/priority-tuner/priority-tuner.toml
systemctl restart priority-tuner

apt-get purge --yes priority-tuner
is "programs left" "$(cat /proc/[0-9]*/comm | grep -c priority-tuner || true)" 0
is "files left" "$(find / -xdev -name '*priority-tuner*' -not -path '/proc/*')" ""
echo "all is well"
