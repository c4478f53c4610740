import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from "jose";

/** An issuer of tokens for any subject. */
export interface Issuer {
  /** The options with which a server accepts its tokens. */
  readonly options: {
    readonly issuer: string;
    readonly audience: string;
    readonly keys: JSONWebKeySet;
  };
  /**
   * Returns a token for a subject, valid for ten minutes.
   *
   * @param claims further ones. Default: none
   */
  tokenFor(subject: string, scope?: string, claims?: object): Promise<string>;
}

/** Makes an issuer with a key of its own. */
export async function createIssuer(): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const issuer = "https://login.example";
  const audience = "devtool";
  const keys = {
    keys: [{ ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" }],
  };
  return {
    options: { issuer, audience, keys },
    tokenFor: (subject, scope, claims) =>
      new SignJWT({ ...(scope !== undefined && { scope }), ...claims })
        .setProtectedHeader({ alg: "ES256", kid: "one" })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(subject)
        .setExpirationTime("10m")
        .sign(privateKey),
  };
}
