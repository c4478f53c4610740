import { parseArgs } from "node:util";
import type { FakeModel, FakeModelOptions } from "./fake-model.ts";

/**
 * Serves a fake model API until it is terminated:
 * `NAME [--port N] [--latency MS] [--chunk-delay MS]`.
 *
 * Prints `NAME listening on URL` when it listens. Exits with 1 when it cannot,
 * mostly because the port is in use.
 */
export async function runFake(
  name: string,
  start: (options: FakeModelOptions) => Promise<FakeModel>,
): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      latency: { type: "string", default: "0" },
      "chunk-delay": { type: "string", default: "0" },
    },
  });
  const { port, latency, "chunk-delay": chunkDelay } = values;
  try {
    const fake = await start({
      port: Number(port),
      latencyMs: Number(latency),
      chunkDelayMs: Number(chunkDelay),
    });
    process.stdout.write(`${name} listening on ${fake.url}\n`);
    const stop = async (): Promise<void> => {
      await fake[Symbol.asyncDispose]();
      process.exit(0);
    };
    process.once("SIGINT", stop).once("SIGTERM", stop);
  } catch (reason) {
    const taken =
      reason instanceof Error &&
      "code" in reason &&
      reason.code === "EADDRINUSE";
    const message = reason instanceof Error ? reason.message : String(reason);
    const words = taken
      ? `port ${port} is in use: choose another with --port, or 0 for a free one`
      : message;
    process.stderr.write(`${name}: ${words}\n`);
    process.exitCode = 1;
  }
}
