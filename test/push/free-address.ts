import { createServer } from "node:net";

/** An address of loopback that is free: a server must know it before the receiver listens. */
export async function freeAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}
