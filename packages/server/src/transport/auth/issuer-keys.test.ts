import { expect, it } from "vitest";
import { createJwtAuthenticator } from "./jwt-authenticator.ts";

const SECRET = "http://me:s3cret@login.example";

it.each([
  [{ issuer: SECRET }, 'issuer "http://login.example/" must be an https URL'],
  [
    { jwksUri: SECRET },
    'jwks_uri "http://login.example/" must be an https URL',
  ],
  [{ issuer: "https://me:s3/cret@x" }, 'issuer "https://…" is not a URL'],
])(
  "no password is shown of a URL that gives no keys: %j",
  (options, problem) => {
    const issuer = "https://login.example";
    expect(() =>
      createJwtAuthenticator(
        { issuer, audience: "devtool", ...options },
        () => new Date(0),
      ),
    ).toThrow(problem);
  },
);
