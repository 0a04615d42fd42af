//go:build tools

// Package tools names the program that install.sh builds, so that go.mod has the versions of all that it needs.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
