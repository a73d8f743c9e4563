#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sbom.py VERSION EPOCH DEB PROGRAM: what a package is made of, as SPDX 2.3 in JSON: the package, and each Debian
package whose library the program is linked with, in the version that it was built against, and what of libcrypto
the program has in itself."""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """The Debian packages of the program's own libraries: name -> (version, architecture)."""
    needed = re.findall(r"NEEDED\s+(\S+)", said("objdump", "-p", program))
    found = {}
    for name, path in re.findall(r"(\S+) => (/\S+)", said("ldd", program)):
        if name not in needed:
            continue
        for real in (os.path.realpath(path), path):
            owner = subprocess.run(("dpkg-query", "-S", real), capture_output=True, text=True).stdout
            if owner:
                break
        if not owner:
            sys.exit(f"sbom: no package has {path}")
        package = owner.split(": ")[0].split(",")[0]
        version, arch = said("dpkg-query", "-W", "-f=${Version} ${Architecture}", package).split()
        found[package.split(":")[0]] = (version, arch)
    return found


def built_in(program):
    """libcrypto, where the program does not load it: its archive is in it. (version, Debian's package, its version)"""
    if re.search(r"NEEDED\s+libcrypto", said("objdump", "-p", program)):
        return None
    owner = said("dpkg-query", "-W", "-f=${source:Package} ${Version} ${Architecture}", "libssl-dev").split()
    return said("pkg-config", "--modversion", "libcrypto").strip(), *owner


def package(name, version, purl, more):
    ref = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
    return {"SPDXID": ref, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}], **more}


def main(version, epoch, deb, program):
    with open(deb, "rb") as stream:
        digest = hashlib.sha256(stream.read()).hexdigest()
    arch = said("dpkg", "--print-architecture").strip()
    made = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    packages = [package("ryefs", version, f"pkg:deb/ryefs@{version}?arch={arch}", {
        "packageFileName": os.path.basename(deb), "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": "Copyright (c) 2026 The ryefs authors"})]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-ryefs"}]
    for name, (its, on) in sorted(libraries(program).items()):
        packages.append(package(name, its, f"pkg:deb/debian/{name}@{its}?arch={on}", {}))
        relations.append({"spdxElementId": "SPDXRef-ryefs", "relationshipType": "DYNAMIC_LINK",
                          "relatedSpdxElement": packages[-1]["SPDXID"]})
    static = built_in(program)
    if static:
        its, source, deb_version, on = static
        packages.append(package("libcrypto", its, f"pkg:deb/debian/{source}@{deb_version}?arch={on}",
                                {"licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0"}))
        relations.append({"spdxElementId": "SPDXRef-ryefs", "relationshipType": "STATIC_LINK",
                          "relatedSpdxElement": packages[-1]["SPDXID"]})
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": f"ryefs-{version}", "documentNamespace": f"urn:ryefs:sbom:{version}:{digest}",
               "creationInfo": {"created": made, "creators": ["Organization: The ryefs authors", "Tool: packaging/sbom.py"]},
               "packages": packages, "relationships": relations}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
