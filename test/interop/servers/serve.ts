import express, { type Express } from "express";

/** The URI of the extension, which the card of each server lists. */
export const EXTENSION: string = process.env.INTEROP_EXTENSION ?? "";

/** Whether the card claims a capability, or the extension. Default: all. */
export function claims(name: "streaming" | "push" | "extension"): boolean {
  const { INTEROP_CLAIMS = "streaming push extension" } = process.env;
  return INTEROP_CLAIMS.split(" ").includes(name);
}

/**
 * Serves an application of an official SDK on a free port. Prints the URL as
 * the first line, and ends the process when standard input ends.
 *
 * Runs in its own process, because the test runner resolves the packages of
 * these SDKs differently.
 */
export function serve(
  setUp: (app: Express, url: string) => void | Promise<void>,
): void {
  const app = express();
  const server = app.listen(0, "127.0.0.1", async () => {
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
    await setUp(app, url);
    process.stdout.write(`${url}\n`);
  });
  process.stdin.resume().once("end", () => process.exit(0));
}
