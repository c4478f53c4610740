import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { fromJsonString } from "@bufbuild/protobuf";
import { ReadinessSchema } from "@devtool/schema";
import type { ServerInfo } from "@devtool/schema/operator";
import { PROOF_BYTES, serverProof } from "@devtool/server/operator";
import { errorCode, errorMessage } from "../errors.ts";
import { pinnedTls } from "./pinned-tls.ts";

/**
 * The server of the discovery file cannot be used: it did not prove that it
 * wrote the file, or the file cannot be read.
 */
export class UnprovenServerError extends Error {
  override readonly name = "UnprovenServerError";
}

/** The program that listens at the address of a discovery file. */
type ServerIdentity =
  /** The server that wrote the file. */
  | { readonly case: "proven" }
  /** Nothing. */
  | { readonly case: "absent" }
  /**
   * A program that did not prove that it is that server, and so must not get
   * the token.
   */
  | { readonly case: "foreign"; readonly reason: string }
  /**
   * A program that accepted the connection and did not answer in time: perhaps
   * that server, overloaded.
   */
  | { readonly case: "silent"; readonly timeoutMs: number };

/** Timeout of a challenge in milliseconds. */
const TIMEOUT_MS = 5_000;

/**
 * Pauses in milliseconds before the next challenge, when the connection of one
 * was cut.
 */
const PAUSES_MS = [20, 100, 400, 1_000];

/** Maximum size of the answer to a challenge in bytes. */
const MAX_ANSWER_BYTES = 4_096;

/**
 * Challenges the program at the address of a discovery file to prove that it
 * wrote the file. Throws when the signal aborts.
 *
 * Sends only random bytes, never the token. When the connection is cut, sends
 * others for a second and a half: a server that was shut down or killed is
 * absent by then.
 */
export async function verifyServer(
  info: ServerInfo,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<ServerIdentity> {
  for (const pause of [0, ...PAUSES_MS]) {
    await delay(pause, undefined, { signal });
    const challenge = randomBytes(PROOF_BYTES);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const answer = await readAnswer(challenge, info, limit);
      const { proof } = fromJsonString(ReadinessSchema, answer, {
        ignoreUnknownFields: true,
      });
      const expected = serverProof(info, challenge);
      const isProven =
        proof.length === expected.length && timingSafeEqual(proof, expected);
      return isProven
        ? { case: "proven" }
        : { case: "foreign", reason: "its proof is missing or wrong" };
    } catch (reason) {
      signal.throwIfAborted();
      const code = errorCode(reason);
      if (code === "ECONNREFUSED") return { case: "absent" };
      const isCut = code === "ECONNRESET" || code === "EPIPE";
      if (!isCut) {
        return limit.aborted
          ? { case: "silent", timeoutMs }
          : { case: "foreign", reason: errorMessage(reason) };
      }
    }
  }
  return {
    case: "foreign",
    reason: `it cut ${PAUSES_MS.length + 1} connections`,
  };
}

/** Returns the error message for a server that does not answer. */
export function unresponsiveServer(
  { url, pid }: ServerInfo,
  timeoutMs: number,
): string {
  return `the server at ${url} did not answer within ${timeoutMs / 1000} seconds: try again, or stop process ${pid} and start it again`;
}

/**
 * Sends a challenge and returns the text of the answer. Throws when it is too
 * large or has an unexpected status.
 */
async function readAnswer(
  challenge: Buffer,
  info: ServerInfo,
  signal: AbortSignal,
): Promise<string> {
  const url = new URL("/readyz", info.url);
  url.searchParams.set("challenge", challenge.toString("base64url"));
  const options = { agent: false, signal };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request =
    url.protocol === "https:"
      ? process.getBuiltinModule("node:https").get(url, {
          ...options,
          ...(info.certificate === "" ? {} : pinnedTls(info.certificate)),
        })
      : process.getBuiltinModule("node:http").get(url, options);
  request.on("response", resolve).on("error", reject);
  const response = await promise;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) {
      throw new Error(`its answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  if (response.statusCode !== 200 && response.statusCode !== 503) {
    throw new Error(`HTTP ${response.statusCode}`);
  }
  return Buffer.concat(chunks).toString("utf8");
}
