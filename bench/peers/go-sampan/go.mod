module peer

go 1.25

require github.com/sampan-server/sampan/faces/go v0.0.0

replace github.com/sampan-server/sampan/faces/go => ../../../faces/go
