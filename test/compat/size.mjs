// How large the package is, and that the README says so.
import { readSection, writeSection } from '../support/readme-section.mjs';

const LARGEST_KB = 500;
const TOLERANCE = 0.1;
const SECTION = 'size';

/** Throws when the package outgrew its bound, or what the README says of it. */
export async function reportSize({ size, unpackedSize, entryCount }, isWriting) {
  const [packed, unpacked] = [size, unpackedSize].map((bytes) => Math.round(bytes / 1000));
  console.log(`tarball: ${packed} kB, ${unpacked} kB unpacked, ${entryCount} files`);
  if (packed > LARGEST_KB)
    throw new Error(`The tarball has more than ${LARGEST_KB} kB. What has come into it?`);
  const text = `The tarball is ${packed} kB, ${unpacked} kB unpacked.`;
  if (isWriting) return writeSection(SECTION, text);
  const said = readSection(SECTION).match(/\d+/g).map(Number);
  const isNear = (value, index) => Math.abs(value - said[index]) <= TOLERANCE * value;
  if (![packed, unpacked].every(isNear))
    throw new Error('The README gives another size. Write it with: npm run compat -- --write');
}
