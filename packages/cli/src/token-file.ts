import { open } from "node:fs/promises";
import { grants, isOfAnother, OTHERS } from "@devtool/internal/file-access";
import { errorMessage } from "./errors.ts";

/** Minimum length of a token in characters: 128 bits in hexadecimal digits. */
const MIN_TOKEN_LENGTH = 32;

/**
 * Reads a bearer token from a file: the operator's, or that of the metrics.
 *
 * Throws when the file cannot be read, when others can read it, and when it
 * does not hold a bearer token (RFC 6750) of sufficient length.
 */
export async function readTokenFile(path: string): Promise<string> {
  await using file = await open(path).catch((reason: unknown) => {
    throw new Error(
      `token file "${path}" cannot be read: write one with mode 0600, as "openssl rand -hex 32" prints (${errorMessage(reason)})`,
      { cause: reason },
    );
  });
  // Owner and mode are those of the open file, so that the file cannot be
  // replaced after the check.
  const stats = await file.stat();
  if (stats.uid !== 0 && isOfAnother(stats)) {
    throw new Error(
      `token file "${path}" belongs to another user, who knows the token: write another`,
    );
  }
  if (grants(stats, OTHERS)) {
    throw new Error(`token file "${path}" is open to others: chmod 600 it`);
  }

  const token = (await file.readFile("utf8")).trim();
  if (token.length >= MIN_TOKEN_LENGTH && /^[\w.~+/-]+=*$/.test(token)) {
    return token;
  }
  const content = `one line of ${MIN_TOKEN_LENGTH} or more letters, digits and -._~+/`;
  throw new Error(
    `token file "${path}" does not hold a token: it needs ${content}, as "openssl rand -hex 32" prints`,
  );
}
