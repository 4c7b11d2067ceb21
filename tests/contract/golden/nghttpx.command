/usr/sbin/nghttpx
--conf=/run/priolab/asked/nghttpx.conf
