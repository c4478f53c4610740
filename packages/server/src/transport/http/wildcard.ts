import { isIP } from "node:net";

/**
 * Whether an address stands for all addresses of the machine. For Node, an
 * empty address does too.
 */
export function isWildcard(host: string): boolean {
  return (
    host === "" ||
    host === "0.0.0.0" ||
    (isIP(host) === 6 && new URL(`http://[${host}]`).hostname === "[::]")
  );
}
