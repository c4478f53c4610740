/** The values of `Host` and `Origin` that stand for a server itself. */
export interface OwnAddresses {
  /**
   * The values of `Host`, in lower case: `name:port`, or `name`, which stands
   * for any port.
   */
  readonly hosts: readonly string[];
  /** The origins of the server's own pages. */
  readonly origins: readonly string[];
}

/**
 * The names by which programs on the machine call a server that listens on
 * loopback.
 */
const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Returns what stands for a server that listens at a URL, and that clients may
 * reach at a public one.
 *
 * `Host` may have each name of loopback. Pages are the server's own at the
 * address it listens at alone: a server at `127.0.0.1` leaves the same port of
 * `[::1]` to any user of the machine, and browsers try that address first for
 * `localhost`.
 */
export function ownAddresses(
  url: string,
  publicUrl: string | undefined,
): OwnAddresses {
  const { hostname, port, protocol, origin } = new URL(url);
  // `URL` leaves the default port out, and so do browsers. Other clients may
  // send it.
  const ports =
    port === "" ? ["", protocol === "https:" ? ":443" : ":80"] : [`:${port}`];
  const hosts = [hostname, ...LOOPBACK_NAMES].flatMap((name) =>
    ports.map((suffix) => `${name}${suffix}`),
  );
  if (publicUrl === undefined) return { hosts, origins: [origin] };
  const published = new URL(publicUrl);
  // Some proxies pass the port of the public URL on, others do not: its name is
  // accepted with any port.
  return {
    hosts: [...hosts, published.hostname],
    origins: [origin, published.origin],
  };
}

/**
 * Whether a value of `Host` names loopback otherwise than a URL does: pages at
 * it are not the server's own.
 */
export function isOtherLoopbackName(host: string, url: string): boolean {
  const { hosts } = ownAddresses(url, undefined);
  const { protocol, origin } = new URL(url);
  return (
    hosts.includes(host.toLowerCase()) &&
    URL.parse(`${protocol}//${host}`)?.origin !== origin
  );
}
