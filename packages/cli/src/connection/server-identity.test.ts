import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { create } from "@bufbuild/protobuf";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { afterEach, expect, it } from "vitest";
import { verifyServer } from "./server-identity.ts";

let program: Server;
let connections: number;
afterEach(() => program.close());

/** Listens, and cuts each connection. It is gone after a number of them. */
async function cutting(mostConnections: number): Promise<string> {
  connections = 0;
  program = createServer((socket) => {
    socket.resetAndDestroy();
    connections++;
    if (connections === mostConnections) program.close();
  });
  await once(program.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${portOf(program.address())}`;
}

function portOf(address: AddressInfo | string | null): number {
  return address !== null && typeof address === "object" ? address.port : 0;
}

it.each([1, 2, 4])(
  "a server that is gone when it has cut %d connections is absent",
  async (most) => {
    const info = create(ServerInfoSchema, { url: await cutting(most) });
    expect(await verifyServer(info, new AbortController().signal)).toEqual({
      case: "absent",
    });
    expect(connections).toBe(most);
  },
);

it("a program that goes on cutting connections is foreign", async () => {
  const info = create(ServerInfoSchema, {
    url: await cutting(Number.POSITIVE_INFINITY),
  });
  const foreign = { case: "foreign", reason: "it cut 5 connections" };
  expect(await verifyServer(info, new AbortController().signal)).toEqual(
    foreign,
  );
});
