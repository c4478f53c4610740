import { Code } from "../../errors.ts";
import { GeminiFault } from "./gemini-fault.ts";

/** So much of a reason is looked at, and so much of it is told. */
const MAX_READ_CHARS = 2000;
const MAX_REASON_CHARS = 200;

/** What is longer than any word and any name, with what dots join to it: keys, tokens, and what is signed with them. */
const SECRET_LIKE = /(?:[\w+=-]+\.)*[\w+=-]{32,}(?:\.[\w+=-]+)*/g;

/** The fault of a request that the SDK could not even make: most often there are no credentials. */
export function unsentFault(cause: unknown): GeminiFault {
  const message = `the request to the model could not be made${said(cause)}: the operator must check the credentials`;
  return new GeminiFault(message, Code.FailedPrecondition, { cause });
}

/** The reason in words, without what a credentials file or a token endpoint may have put into them. */
function said(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  // The words of a parser quote what it could not read: a file with a private key in it.
  if (cause instanceof SyntaxError) return " (the credentials are no JSON)";
  const [line = ""] = cause.message.split("\n", 1);
  const told = line.slice(0, MAX_READ_CHARS).replaceAll(SECRET_LIKE, "…").slice(0, MAX_REASON_CHARS);
  return told === "" ? "" : ` (${told})`;
}
