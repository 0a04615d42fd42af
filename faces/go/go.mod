module github.com/sampan-server/sampan/faces/go

go 1.25
