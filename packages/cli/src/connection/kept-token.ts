import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { TokenFileSchema } from "@devtool/schema/operator";
import { readPrivateFile, writePrivateFile } from "../private-file.ts";

/** The operator's token, which stays the same over restarts of the server. */
export interface KeptToken {
  readonly token: string;
  /**
   * Stores a new token. Only a running server calls this, so that two never
   * write at the same time.
   */
  keep(): Promise<void>;
}

/** Returns the path of the file that stores the token. */
export function tokenPath(dataDirectory: string): string {
  return join(dataDirectory, "token.json");
}

/**
 * Returns the token of a data directory: `kept` takes the stored one if there
 * is one, `new` always makes another.
 */
export async function keptToken(
  dataDirectory: string,
  which: "kept" | "new",
): Promise<KeptToken> {
  const path = tokenPath(dataDirectory);
  const stored = which === "kept" ? await readPrivateFile(path) : undefined;
  if (stored !== undefined) {
    try {
      const { token } = fromJsonString(TokenFileSchema, stored, {
        ignoreUnknownFields: true,
      });
      if (!/^[\w-]{43}$/.test(token)) throw new Error("it holds no token");
      return { token, keep: () => Promise.resolve() };
    } catch (cause) {
      const remedy = 'make another token with "devtool serve --rotate-token"';
      throw new Error(`token file "${path}" cannot be read: ${remedy}`, {
        cause,
      });
    }
  }
  const token = randomBytes(32).toString("base64url");
  const file = create(TokenFileSchema, { token, createTime: timestampNow() });
  const text = `${toJsonString(TokenFileSchema, file, { prettySpaces: 2 })}\n`;
  return { token, keep: () => writePrivateFile(path, text) };
}
