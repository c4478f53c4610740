import { X509Certificate } from "node:crypto";
import { isLoopback } from "@devtool/internal/loopback";
import encodeQR from "qr";

/**
 * Black on white, whatever the colours of the terminal are: not every camera
 * reads a light code on a dark background.
 */
const [BLACK_ON_WHITE, RESET] = ["\u001b[38;5;16;48;5;231m", "\u001b[0m"];

/**
 * Width of the white edge, in modules: four, by the standard (ISO/IEC 18004).
 */
const EDGE = 4;

/**
 * Returns a QR code as lines of blocks, each with two modules above each other,
 * for terminals.
 */
export function qrCode(text: string): string {
  const modules = encodeQR(text, "raw", { ecc: "low", border: EDGE });
  const lines: string[] = [];
  for (let row = 0; row < modules.length; row += 2) {
    const [upper = [], lower = []] = modules.slice(row, row + 2);
    const blocks = upper.map((isDark, column) => {
      const isDarkBelow = lower[column] ?? false;
      if (isDark) return isDarkBelow ? "█" : "▀";
      return isDarkBelow ? "▄" : " ";
    });
    lines.push(`${BLACK_ON_WHITE}${blocks.join("")}${RESET}`);
  }
  return lines.join("\n");
}

/**
 * Returns what a server needs before a phone can open its console; empty if it
 * has all of that.
 */
export function missingForPhone(publicUrl: string): readonly string[] {
  const { protocol, hostname } = new URL(publicUrl);
  return [
    ...(isLoopback(hostname)
      ? [
          "an address that other machines reach (--host, or --public-url of a proxy)",
        ]
      : []),
    ...(protocol === "https:"
      ? []
      : ["a certificate ([tls] in config.toml, or that of a proxy)"]),
    // The server requires one for such an address, and is not started without.
    ...(isLoopback(hostname) ? ["a token of its own (--token-file)"] : []),
  ];
}

/**
 * Returns the SHA-256 fingerprint of a certificate that is its own authority,
 * which a phone warns about; otherwise undefined.
 */
export function selfSignedFingerprint(certificate: string): string | undefined {
  const first = new X509Certificate(certificate);
  return first.checkIssued(first) ? first.fingerprint256 : undefined;
}
