import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Global unicast in IPv6. All other addresses are unassigned or special,
 * including those that the library has no range for.
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** IPv6 addresses that a translator maps to IPv4 (RFC 6052, section 2.1). */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
/**
 * Addresses in public ranges that reach the cloud platform of this machine,
 * which may return secrets.
 */
const PLATFORM: ReadonlySet<string> = new Set(["168.63.129.16"]);

/**
 * Whether a text is an address of the public Internet. An IPv4 address within
 * an IPv6 address counts as the IPv4 address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = unwrapIPv4(ipaddr.parse(text));
  if (address.range() !== "unicast" || PLATFORM.has(address.toString())) {
    return false;
  }
  return !(address instanceof ipaddr.IPv6) || address.match(GLOBAL_UNICAST);
}

/**
 * Returns an address in a form that can be compared: IPv4 when it contains an
 * IPv4 address, and without a zone.
 */
export function canonicalAddress(text: string): string {
  return ipaddr.isValid(text)
    ? unwrapIPv4(ipaddr.parse(text.replace(/%.*$/s, ""))).toString()
    : text;
}

/**
 * Returns the IPv4 address within an IPv6 address; any other address as it is.
 */
function unwrapIPv4(address: Address): Address {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64)
    ? new ipaddr.IPv4(address.toByteArray().slice(-4))
    : address;
}
