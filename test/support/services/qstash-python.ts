import { fetchPackages } from '../pip.ts';
import type { Service } from '../service.ts';

const PACKAGES = {
  keptAs: 'qstash-python-3.4.0',
  versions: [
    'qstash==3.4.0',
    'httpx==0.28.1',
    'httpcore==1.0.9',
    'h11==0.16.0',
    'anyio==4.12.0',
    'certifi==2025.11.12',
    'idna==3.11',
    'PyJWT==2.10.1',
    'typing_extensions==4.15.0',
  ],
};

/** QStash's Python client. Its "URL" is the folder of its packages. */
export const qstashPython: Service = {
  howTo: 'install Python 3.9 or newer with pip, and let pip reach a registry that has the package qstash',
  obtain: (run) => fetchPackages(run, PACKAGES),
};
