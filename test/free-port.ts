import { createServer } from "node:net";

/**
 * Ports below those that systems choose themselves, so that no program gets one
 * of them by chance.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;

/**
 * A free port of loopback, for a server that must know its port before it
 * listens, or listens there again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) =>
      server.once("error", reject).listen(port, "127.0.0.1", resolve),
    );
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
