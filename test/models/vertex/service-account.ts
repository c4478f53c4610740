import { generateKeyPairSync, type KeyObject } from "node:crypto";

/** A service account of a project, and its key. */
export interface ServiceAccount {
  readonly email: string;
  readonly publicKey: KeyObject;
  /** Its key file, as the Google Cloud console gives it. */
  readonly file: string;
  /**
   * The secret that must not appear anywhere: a line from the middle of the
   * private key.
   */
  readonly secret: string;
}

/** Makes an account with a new key. */
export function createServiceAccount(project: string): ServiceAccount {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
  });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const email = `devtool@${project}.iam.gserviceaccount.com`;
  const file = {
    type: "service_account",
    project_id: project,
    private_key_id: "test",
    private_key: pem,
    client_email: email,
    token_uri: "https://oauth2.googleapis.com/token",
  };
  return {
    email,
    publicKey,
    file: JSON.stringify(file, null, 2),
    secret: pem.split("\n")[5] ?? "",
  };
}
