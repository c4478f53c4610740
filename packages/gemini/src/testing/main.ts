#!/usr/bin/env node
/**
 * Serves a fake Gemini until it is terminated:
 * `fake-gemini [--port N] [--latency MS] [--chunk-delay MS]`.
 *
 * Prints `fake-gemini listening on URL` when it listens. Exits with 1 when it
 * cannot, mostly because the port is in use.
 */
import { parseArgs } from "node:util";
import { startFakeGemini } from "./fake-gemini.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    latency: { type: "string", default: "0" },
    "chunk-delay": { type: "string", default: "0" },
  },
});
const { port, latency, "chunk-delay": chunkDelay } = values;
try {
  const fake = await startFakeGemini({
    port: Number(port),
    latencyMs: Number(latency),
    chunkDelayMs: Number(chunkDelay),
  });
  process.stdout.write(`fake-gemini listening on ${fake.url}\n`);
  const stop = async (): Promise<void> => {
    await fake[Symbol.asyncDispose]();
    process.exit(0);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
} catch (reason) {
  const taken =
    reason instanceof Error && "code" in reason && reason.code === "EADDRINUSE";
  const message = reason instanceof Error ? reason.message : String(reason);
  const words = taken
    ? `port ${port} is in use: choose another with --port, or 0 for a free one`
    : message;
  process.stderr.write(`fake-gemini: ${words}\n`);
  process.exitCode = 1;
}
