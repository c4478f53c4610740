import express, { type Express } from "express";

/** The URI of the extension, which the card of each server lists. */
export const EXTENSION: string = process.env.INTEROP_EXTENSION ?? "";

/**
 * Serves an application of an official SDK on a free port, tells its URL on the first line, and ends the process when nobody
 * can write to it any more. A process of its own, since the test runner resolves the packages of these SDKs in its own way.
 */
export function serve(setUp: (app: Express, url: string) => void | Promise<void>): void {
  const app = express();
  const server = app.listen(0, "127.0.0.1", async () => {
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
    await setUp(app, url);
    process.stdout.write(`${url}\n`);
  });
  process.stdin.resume().once("end", () => process.exit(0));
}
