import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { TokenFileSchema } from "@devtool/schema";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

/** The operator's token, which outlives a start of the server. */
export interface KeptToken {
  readonly token: string;
  /** Keeps a token that is new. To be called by a server that runs, so that no other writes at the same time. */
  keep(): Promise<void>;
}

/** Where a server keeps its token from one start to the next. */
export function tokenPath(dataDirectory: string): string {
  return join(dataDirectory, "token.json");
}

/** The token of a data directory: `kept` is the one of the start before, when there is one; `new` always makes another. */
export async function keptToken(dataDirectory: string, which: "kept" | "new"): Promise<KeptToken> {
  const kept = which === "kept" ? await readToken(tokenPath(dataDirectory)) : undefined;
  if (kept !== undefined) return { token: kept, keep: () => Promise.resolve() };
  const token = randomBytes(32).toString("base64url");
  const file = create(TokenFileSchema, { token, createTime: timestampNow() });
  const text = `${toJsonString(TokenFileSchema, file, { prettySpaces: 2 })}\n`;
  return { token, keep: () => writePrivateFile(tokenPath(dataDirectory), text) };
}

async function readToken(path: string): Promise<string | undefined> {
  const text = await readPrivateFile(path);
  if (text === undefined) return undefined;
  const { token } = tokenFileIn(text, path);
  if (/^[\w-]{43}$/.test(token)) return token;
  throw new Error(unusable(path));
}

function tokenFileIn(text: string, path: string): { readonly token: string } {
  try {
    return fromJsonString(TokenFileSchema, text, { ignoreUnknownFields: true });
  } catch (reason) {
    throw new Error(unusable(path), { cause: reason });
  }
}

function unusable(path: string): string {
  return `token file "${path}" cannot be read: make another token with "devtool serve --rotate-token"`;
}
