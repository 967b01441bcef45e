import { fetchPackages } from '../pip.ts';
import type { Service } from '../service.ts';

const PACKAGES = {
  keptAs: 'kubernetes-validate-1.37.0',
  versions: [
    'kubernetes-validate==1.37.0',
    'attrs==26.1.0',
    'importlib_resources==7.1.0',
    'jsonschema==4.26.0',
    'jsonschema-specifications==2025.9.1',
    'packaging==26.3',
    'PyYAML==6.0.3',
    'referencing==0.37.0',
    'rpds-py==2026.9.1',
    'typing_extensions==4.16.0',
  ],
};

/** The schemas of Kubernetes, and what checks a manifest against them. Its "URL" is the folder of its packages. */
export const kubernetesValidate: Service = {
  howTo: 'install Python 3.11 or newer with pip, and let pip reach a registry that has the package kubernetes-validate',
  obtain: (run) => fetchPackages(run, PACKAGES),
};
