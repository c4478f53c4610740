import { describe, expect, it } from "vitest";
import { missingForPhone, selfSignedFingerprint } from "./phone-code.ts";

const ADDRESS =
  "an address that other machines reach (--host, or --public-url of a proxy)";
const CERTIFICATE = "a certificate ([tls] in config.toml, or that of a proxy)";
const TOKEN = "a token of its own (--token-file)";

describe("what a server needs for a phone", () => {
  it.each([
    ["http://127.0.0.1:41242", [ADDRESS, CERTIFICATE, TOKEN]],
    ["http://localhost:41242", [ADDRESS, CERTIFICATE, TOKEN]],
    ["https://[::1]:41242", [ADDRESS, TOKEN]],
    ["https://127.8.9.1", [ADDRESS, TOKEN]],
    ["http://192.0.2.7:41242", [CERTIFICATE]],
    ["https://192.0.2.7:41242", []],
    ["https://devtool.example/port", []],
  ])("at %s is %j", (url, missing) => {
    expect(missingForPhone(url)).toEqual(missing);
  });
});

describe("the fingerprint for a phone", () => {
  it("is that of a certificate which is its own authority, as OpenSSL prints it", () => {
    expect(selfSignedFingerprint(OWN)).toBe(
      "91:DE:A5:95:40:97:40:35:EB:D6:AC:47:1D:1B:B1:8E:25:A1:34:42:CE:68:85:57:8A:29:21:79:1E:98:B4:04",
    );
  });

  it("is not shown for a certificate that another one has signed", () => {
    expect(selfSignedFingerprint(ISSUED)).toBeUndefined();
  });
});

/** Made by `openssl req -x509 -subj /CN=own`. */
const OWN = `-----BEGIN CERTIFICATE-----
MIIBczCCARmgAwIBAgIUQhe1gjMvPw/OEgPn4aNWqrZiakAwCgYIKoZIzj0EAwIw
DjEMMAoGA1UEAwwDb3duMCAXDTI2MTEyNDE4NDQ0M1oYDzIxMjYxMDMxMTg0NDQz
WjAOMQwwCgYDVQQDDANvd24wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAT1e5F3
GQYAZOWjTVXDdufdIfWsUxZM8WUSKJ0xiBEgcieh9mE7GLhZ2oNI99b62W3zB3N7
lUWgOO6JZa/+o4L2o1MwUTAdBgNVHQ4EFgQUXcGHVWXIDh16FfEK6ewdWuIjRzIw
HwYDVR0jBBgwFoAUXcGHVWXIDh16FfEK6ewdWuIjRzIwDwYDVR0TAQH/BAUwAwEB
/zAKBggqhkjOPQQDAgNIADBFAiBumuckFEg1KnVemVzg9lHpBCZ0iDDlY1wkt6Ws
qC8UbQIhAJRzw0tJYWaA0hrAnr6Gs1bc3RXTCH4rYf/pHjom1O6V
-----END CERTIFICATE-----`;

/**
 * Made by `openssl req -x509 -subj /CN=issued`, with the one above as `-CA`.
 */
const ISSUED = `-----BEGIN CERTIFICATE-----
MIIBdjCCARygAwIBAgIUXytDGjQyF+u4Vuk+/+owqtySPzIwCgYIKoZIzj0EAwIw
DjEMMAoGA1UEAwwDb3duMCAXDTI2MTEyNDE4NDQ0M1oYDzIxMjYxMDMxMTg0NDQz
WjARMQ8wDQYDVQQDDAZpc3N1ZWQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAR0
+nbWH9+QB4oF9QnwnxOYbfG+kBOioy3kfpg7UEcFsaE+pyGjFngKC8pi92ku1h09
M9276ptDk4WOubuTwDhjo1MwUTAdBgNVHQ4EFgQUfqQMJPrws8tA9/et3ELUqtUE
2jwwHwYDVR0jBBgwFoAUXcGHVWXIDh16FfEK6ewdWuIjRzIwDwYDVR0TAQH/BAUw
AwEB/zAKBggqhkjOPQQDAgNIADBFAiEAv9PWFD8BTv3yg5BAomkP+uVDr0DWUWA9
4Seh8b5f2VMCIBXNpJZdFfEfTyDD1HE414gxhbsk/h4h6+VKYy44yAje
-----END CERTIFICATE-----`;
