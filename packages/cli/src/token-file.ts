import { open } from "node:fs/promises";

/** Minimum length of a token in characters: 128 bits in hexadecimal digits. */
const MIN_LENGTH = 32;

/**
 * Reads the operator's bearer token from a file.
 *
 * Throws when the file cannot be read, when others can read it, and when it does not hold a bearer token (RFC 6750) of sufficient length.
 */
export async function readTokenFile(path: string): Promise<string> {
  const text = await privateText(path);
  const token = text.trim();
  if (token.length >= MIN_LENGTH && /^[\w.~+/-]+=*$/.test(token)) return token;
  const what = `one line of ${MIN_LENGTH} or more letters, digits and -._~+/`;
  throw new Error(`token file "${path}" does not hold a token: it needs ${what}, as "openssl rand -hex 32" prints`);
}

/** Reads a file that nobody else can read. The checked mode and the text are those of the same open file. */
async function privateText(path: string): Promise<string> {
  await using file = await open(path).catch((reason: unknown) => {
    const why = reason instanceof Error ? reason.message : String(reason);
    throw new Error(`token file "${path}" cannot be read: ${why}`, { cause: reason });
  });
  const { mode, uid } = await file.stat();
  if (uid !== 0 && uid !== process.getuid?.())
    throw new Error(`token file "${path}" belongs to another user, who knows the token: write another`);
  if ((mode & 0o077) !== 0) throw new Error(`token file "${path}" is open to others: chmod 600 it`);
  return file.readFile("utf8");
}
