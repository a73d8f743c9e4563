# SPDX-License-Identifier: MIT
"""What stands in front of a node: TLS on one port, the same bytes on another.

    tls_proxy.py CERT KEY PORT_OF_NODE    prints its own port
"""
import socket
import ssl
import sys
import threading


def carry(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, port):
    try:
        client = context.wrap_socket(client, server_side=True)
        node = socket.create_connection(("127.0.0.1", port))
    except OSError:
        client.close()
        return
    threading.Thread(target=carry, args=(client, node), daemon=True).start()
    carry(node, client)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(listening.accept()[0], int(sys.argv[3])), daemon=True).start()
