module peer

go 1.24

require github.com/sampan-server/sampan/faces/go v0.0.0

replace github.com/sampan-server/sampan/faces/go => ../../../faces/go
