import { isIP } from "node:net";

/**
 * Returns whether a host, of a URL or alone, is this machine by its form. A
 * name that only looks up to it, such as `127.example.com`, is not.
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  return (
    name === "localhost" ||
    name === "::1" ||
    (isIP(name) === 4 && name.startsWith("127."))
  );
}
