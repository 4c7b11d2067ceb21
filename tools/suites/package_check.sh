# What must be true of the tuner's package under systemd; the last line is "all is well" if it is.
set -e
is() { # WHAT IT MUST-BE
    [ "$2" = "$3" ] || { echo "$1: $2 instead of $3"; exit 1; }
}
pid() { systemctl show --property MainPID --value priority-tuner; }
seen() { priority-tuner status | grep -A 1 /nginx.service | sed -n 's/.*open; \([0-9]*\) seen, \([0-9]*\) of.*/\1 \2/p'; }
load() { curl -s -o /dev/null http://127.0.0.1/; }

apt-get install --yes --no-install-recommends /root/out/priority-tuner.deb
is "the unit after installation" "$(systemctl is-enabled priority-tuner || true)" disabled
systemd-analyze verify --man=no /lib/systemd/system/priority-tuner.service
systemctl enable --now priority-tuner
is "the unit" "$(systemctl is-active priority-tuner)" active
load
is "connections seen and tuned" "$(seen)" "1 1"
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
killed=$(pid)
kill -9 "$killed"
for tenths in $(seq 50); do
    sleep 0.1
    [ "$(pid)" = "$killed" ] || ! systemctl --quiet is-active priority-tuner || break
done
echo "tunes again $tenths tenths of a second after a kill"
is "after a kill" "$(systemctl is-active priority-tuner)" active
load
is "connections after a kill" "$(seen)" "1 1"
echo 'port = 0' >>/etc/priority-tuner/priority-tuner.toml
systemctl reload priority-tuner
is "the unit with broken settings" "$(systemctl is-active priority-tuner)" active
! systemctl restart priority-tuner
is "the unit after a restart with broken settings" "$(systemctl is-active priority-tuner || true)" failed
journalctl --unit priority-tuner --output cat | grep 'port=0 is not allowed; allowed: 1 to 65535$'
sed -i '/^port/d' /etc/priority-tuner/priority-tuner.toml
systemctl restart priority-tuner
apt-get purge --yes priority-tuner
is "programs left" "$(cat /proc/[0-9]*/comm | grep -c priority-tuner || true)" 0
is "files left" "$(find / -xdev -name '*priority-tuner*' -not -path '/root/*' -not -path '/proc/*')" ""
echo "all is well"
