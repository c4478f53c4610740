#!/usr/bin/env node
/** Serves a fake Gemini until it is told to stop: `fake-gemini [--port N] [--latency MS] [--chunk-delay MS]`. */
import { parseArgs } from "node:util";
import { startFakeGemini } from "./fake-gemini.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    latency: { type: "string", default: "0" },
    "chunk-delay": { type: "string", default: "0" },
  },
});
const fake = await startFakeGemini({
  port: Number(values.port),
  latencyMs: Number(values.latency),
  chunkDelayMs: Number(values["chunk-delay"]),
});
process.stdout.write(`fake-gemini listening on ${fake.url}\n`);
const stop = async (): Promise<void> => {
  await fake[Symbol.asyncDispose]();
  process.exit(0);
};
process.once("SIGINT", stop).once("SIGTERM", stop);
