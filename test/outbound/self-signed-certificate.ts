import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate for 127.0.0.1 that nobody vouches for, made on the spot (X.509 v1, Ed25519). */
export function selfSignedCertificate(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const ed25519 = sequence(Buffer.from('06032b6570', 'hex'));
  const commonName = sequence(Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('nobody')));
  const name = sequence(der(0x31, commonName));
  const validity = sequence(time('200101000000Z'), time('491231235959Z'));
  const subjectKey = publicKey.export({ type: 'spki', format: 'der' });
  const serial = der(0x02, Buffer.from([1]));
  const facts = sequence(serial, ed25519, name, validity, name, subjectKey);
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign(null, facts, privateKey)]));
  const body = sequence(facts, ed25519, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`,
  };
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function time(text: string): Buffer {
  return der(0x17, Buffer.from(text));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const lengthBytes = length < 128 ? [length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}
