import { freePort } from "../free-port.ts";

/**
 * An address of loopback that is free: a server must know it before the
 * receiver listens.
 */
export async function freeAddress(): Promise<string> {
  return `127.0.0.1:${await freePort()}`;
}
