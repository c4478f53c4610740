import { Code } from "@devtool/server/agent";
import { GeminiFault } from "./gemini-fault.ts";

/** The maximum numbers of characters of a reason that are searched for secrets, and that are shown. */
const MAX_READ_CHARS = 2000;
const MAX_REASON_CHARS = 200;

/** What is longer than any word and any name, with what dots join to it: keys, tokens, and what is signed with them. */
const SECRET_LIKE = /(?:[\w+=-]+\.)*[\w+=-]{32,}(?:\.[\w+=-]+)*/g;

/** The fault of a request that the SDK could not make, mostly for want of credentials. */
export function unsentFault(cause: unknown): GeminiFault {
  const problem = `the request to the model could not be made${said(cause)}`;
  return new GeminiFault(problem, Code.FailedPrecondition, {
    remedy: "the operator must check the credentials",
    cause,
  });
}

/** The reason in words, without what a credentials file or a token endpoint may have put into them. */
function said(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  // The words of a parser quote what it could not read: a file with a private key in it.
  if (cause instanceof SyntaxError) return " (the credentials are not valid JSON)";
  const [line = ""] = cause.message.split("\n", 1);
  const told = line.slice(0, MAX_READ_CHARS).replaceAll(SECRET_LIKE, "…").slice(0, MAX_REASON_CHARS);
  return told === "" ? "" : ` (${told})`;
}
