#!/bin/sh
# Makes an authority and a certificate of it for localhost, as a public site has them: certificates.sh FOLDER
set -eu
cd "$1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj "/CN=Conformance" \
    -keyout authority.key -out authority.pem -addext "keyUsage=critical,keyCertSign,cRLSign"
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=localhost" -keyout key.pem -out request.pem
cat >extensions <<EOF
subjectAltName=DNS:localhost,IP:127.0.0.1
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
authorityKeyIdentifier=keyid
subjectKeyIdentifier=hash
crlDistributionPoints=URI:http://localhost/authority.crl
EOF
openssl x509 -req -in request.pem -CA authority.pem -CAkey authority.key -CAcreateserial -days 90 -extfile extensions -out leaf.pem
cat leaf.pem authority.pem >certificate.pem
