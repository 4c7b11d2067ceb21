module priolab/front

go 1.27
